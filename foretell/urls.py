from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from annotator.web.style_gallery import views as style
from annotator.web.views.offline import favicon

urlpatterns = [
    # Browsers ask for this where a page names no icon (a file, an error of a proxy).
    path("favicon.ico", favicon),
    # The researchers' first page is their studies.
    path("admin/", RedirectView.as_view(pattern_name="admin:annotator_study_changelist", query_string=True)),
    path("admin/", admin.site.urls),
    path("api/v1/", include("annotator.api.urls")),
    path("", include("annotator.urls")),
    path("", include("evaluation.urls")),
    path("api/v1/", include("evaluation.api.urls")),
    path("style/", style.index, name="style"),
    path("style/screen/<slug:name>/", style.screen, name="style_screen"),
]

handler400 = "annotator.web.views.errors.bad_request"
handler403 = "annotator.web.views.errors.forbidden"
handler404 = "annotator.web.views.errors.not_found"
handler500 = "annotator.web.views.errors.broken"
