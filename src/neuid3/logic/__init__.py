"""What did the user's rules say, and which formula does a query stand for?"""
