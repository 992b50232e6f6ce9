"""Figures as data (`chart`), drawn on a page (`on_page`) and on paper (`on_paper`). They know nothing of runs."""
