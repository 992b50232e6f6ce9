"""How it is said: units, names of factors and outcomes with their colours, and lines of text from records of JSON."""
