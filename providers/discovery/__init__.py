"""Infrastructure discovery (section II.A of the study): the front ends of names, seen through many resolvers.

`running` is the course of a run; what its packets and answers say is `vmtrace.analyze.reports.discovery`'s business.
"""
