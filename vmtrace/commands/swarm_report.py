"""placeholder"""
NAME="report"; LINE="x"; EXAMPLES=""
def add_options(p): pass
def run(a): return 0
