"""The generated module of the reference robot. Nobody edits it."""
