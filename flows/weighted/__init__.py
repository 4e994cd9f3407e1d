"""What labels that were bought for one question say of others: exports, and estimates of new measures."""
