"""Asking Label Studio to tell us that somebody answered: a webhook of one project, registered once.

It is a hint: if one is lost, the next sweep does the work. Label Studio makes one attempt with a timeout of a
second, during the annotator's own request, and signs nothing. So no answer is sent with it (`send_payload` is
off), only a header with a secret. Every member of the project can read the secret in the project's settings;
it keeps strangers out, and can be used for nothing but to ask for an advance.
"""

from collections.abc import Sequence

from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.protocol import SECRET_HEADER, DeskRefused

ACTIONS = ["ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED", "TASKS_DELETED"]


def ensure_webhook(api: LabelStudioApi, projects: Sequence[int], url: str, secret: str) -> bool:
    """Make these projects send hints to `url`; whether anything had to be changed.

    Registered for the address already: only a secret that was changed since is renewed. Raises DeskRefused if
    Label Studio does not take the address, and DeskUnreachable if it is away.
    """
    headers = {SECRET_HEADER: secret}
    changed = False
    for project in projects:
        found = [hook for hook in api.webhooks(project) if hook.get("url") == url]
        current = found[0] if found else None
        if current is not None and current.get("headers") == headers and current.get("is_active"):
            continue
        wanted = {
            "url": url, "headers": headers, "send_payload": False, "send_for_all_actions": False,
            "is_active": True, "actions": ACTIONS,
        }
        try:
            if current is None:
                api.change("POST", "api/webhooks/", {**wanted, "project": project})
            else:
                api.change("PATCH", f"api/webhooks/{int(current['id'])}/", wanted)
        except DeskRefused as error:
            raise DeskRefused(
                f"{error}. Label Studio refuses webhooks to loopback and private addresses unless it is "
                "started with LABEL_STUDIO_SSRF_PROTECTION_ENABLED=false"
            ) from None
        changed = True
    return changed
