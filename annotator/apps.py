from django.apps import AppConfig


class AnnotatorConfig(AppConfig):
    name = "annotator"
    verbose_name = "Studies"

    def ready(self) -> None:
        from annotator.accounts.activity import install_activity
        from annotator.accounts.login_throttle import install_login_throttle
        from annotator.accounts.second_factor import install_set_up_codes
        from annotator.core.news import news_source
        from annotator.core.workspace_use import files_source
        from annotator.selectors.news import study_news
        from annotator.selectors.storage import export_bytes, image_bytes, import_bytes
        from annotator.services.second_factor import install_second_factor_audit
        from annotator.services.workspace import install_personal_workspaces

        install_login_throttle()
        install_second_factor_audit()
        install_set_up_codes()
        install_activity()
        install_personal_workspaces()
        files_source("images", image_bytes)
        files_source("uploaded files that wait for their import", import_bytes)
        files_source("exports", export_bytes)
        news_source("studies", study_news, "messages", "full", "pay", "places")
