from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from annotator.web.style_gallery import views as style
from annotator.web.views.offline import favicon

# Here, so that processes without pages start without the admin's (foretell/admin_app.py).
admin.autodiscover()

urlpatterns = [
    # First, because its first addresses are those that are requested for every judgment.
    path("", include("annotator.urls")),
    # Browsers request this for responses that name no icon, such as plain files.
    path("favicon.ico", favicon),
    # The admin's first page is the list of studies.
    path("admin/", RedirectView.as_view(pattern_name="admin:annotator_study_changelist", query_string=True)),
    # One page for everybody, which limits attempts at the old password.
    path("admin/password_change/", RedirectView.as_view(pattern_name="annotator:password_change")),
    path("admin/", admin.site.urls),
    path("two-factor/", include("annotator.accounts.two_factor_urls")),
    path("sso/", include("foretell.single_sign_on_urls")),
    path("api/v1/", include("annotator.api.urls")),
    path("", include("evaluation.urls")),
    path("api/v1/", include("evaluation.api.urls")),
    path("style/", style.index, name="style"),
    path("style/screen/<slug:name>/", style.screen, name="style_screen"),
]

handler400 = "foretell.errors.bad_request"
handler403 = "annotator.web.views.errors.forbidden"
handler404 = "foretell.errors.not_found"
handler500 = "foretell.errors.server_error"
