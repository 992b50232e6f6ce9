"""A world in namespaces: resolvers that answer by place, front ends with TLS, routers, vantage points, known truth.

`plan` draws it from a seed, `emulator` carries its packets with the delays of real distances, `servers` answers in it,
`running` puts it up and has `vmtrace discover` look at it, `score` holds what that reports against the truth.
"""
