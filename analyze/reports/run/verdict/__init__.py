"""The verdict above a single capture: of a transfer seen from both sides, of a pair, of a run, of several runs.

`judged` takes the engine's verdict of one capture, `both_sides` puts those of both captures together, `of_pair` probe
and data, `of_run` all transfers, `of_set` says what is different between runs. `docs/verdict.md` has the rules.
"""
