"""The pure core: values, the plan, the view and the session's state machine. No I/O."""
