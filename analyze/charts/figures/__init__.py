"""Figures for print (matplotlib): one module draws one kind, `write` puts them into files."""
