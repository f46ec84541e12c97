"""Attacks on a guard from outside, by what they come through; `scene` is what all of them need."""
