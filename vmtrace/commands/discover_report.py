"""x"""
NAME="report"
LINE="x"
EXAMPLES=""
def add_options(parser): pass
def run(arguments): return 0
