"""Tables, charts and the report; they show what they are given."""
