"""The method that draws items together that come together."""
