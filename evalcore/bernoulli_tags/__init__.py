"""Bernoulli sampling for micro and macro F1 of tags, as appendix D of Yilmaz et al. (2021) has it."""
