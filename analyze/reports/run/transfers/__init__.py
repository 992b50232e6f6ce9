"""The transfers of a run with what their captures say of them, cached; and the packets of one."""
