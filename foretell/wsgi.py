import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
application = get_wsgi_application()


def load_pages() -> None:
    """Load what Django would load with the first page: all views, and the templates that annotators see.

    A process that reports to be ready would otherwise keep its first visitors waiting for as long as it has taken to start.
    """
    from django.conf import settings
    from django.template.loader import get_template
    from django.urls import resolve

    resolve("/")
    folder = settings.BASE_DIR / "templates"
    for path in sorted((folder / "annotator").rglob("*.html")):
        get_template(str(path.relative_to(folder)))


load_pages()
