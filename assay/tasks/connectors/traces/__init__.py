"""Traces of language-model applications: spans to conversations, conversations to items that people read."""
