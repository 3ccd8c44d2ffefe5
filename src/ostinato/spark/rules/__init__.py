"""`ost.rules`: rules that change while a stream runs."""
