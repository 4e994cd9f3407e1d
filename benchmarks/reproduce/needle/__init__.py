"""Needle in a Haystack (Marchant & Rubinstein 2021), with the pools that can be had."""
