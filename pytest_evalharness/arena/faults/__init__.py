"""Faults on demand: everything that goes wrong with the hosted service, made to happen when a test wants it.

`registry` is the table of what there is; `active` is what is switched on. All faults are off until asked for, by
`--fault SPEC` or by `POST /_arena/faults {"spec": SPEC}`.
"""
