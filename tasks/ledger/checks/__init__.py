"""Is what a ledger holds what was put there?"""
