"""The element matrices, written by elastic/derivation. Nobody edits them."""
