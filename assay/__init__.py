"""Assay: how good is a model on today's traffic, and how sure are we?"""
