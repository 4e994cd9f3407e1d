"""A dataset of Hugging Face `datasets`, saved by the package itself: two splits, class names, a picture.

    python tests/logs/made_by/for_datasets.py FOLDER
"""

import sys

from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, Value

FEATURES = Features({
    "text": Value("string"), "label": ClassLabel(names=["ham", "spam"]), "prediction": Value("string"),
    "probability": Value("float32"), "picture": Image(),
})


def split(first, last):
    """Mails whose number says what they are; a mail without a label is -1 there."""
    rows = [
        {"text": f"This is mail number {i}, about things.", "label": -1 if i == 3 else int(i % 4 == 0),
         "prediction": "spam" if i % 5 == 0 or i % 8 == 0 else "ham",
         "probability": 0.9 if i % 4 == 0 else 0.2, "picture": None}
        for i in range(first, last)
    ]
    return Dataset.from_list(rows, features=FEATURES)


if __name__ == "__main__":
    DatasetDict({"train": split(0, 40), "test": split(40, 60)}).save_to_disk(sys.argv[1])
