"""docker-compose.yml and Dockerfile, checked against the settings (the tests have no Docker engine)."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.template.loader import render_to_string
from lxml.html import fromstring

from foretell import env
from foretell.serve import COMMANDS
from tests.foretell.env_names import names_explained, names_read

REQUIRED = re.compile(r"\$\{([A-Z_]+):\?")
ANY = re.compile(r"\$\{([A-Z_]+)(?::[-?]([^}]*))?\}")
OURS = ("migrate", "web", "worker", "housekeeping", "beat")
#: Set in the image, or not used in production.
#: A pooler can't lend the connections of workers, which read with cursors that stay open.
WEB_ONLY = {"DATABASE_POOLER_URL"}
NOT_PASSED = {
    *("DATA_DIR", "HOST", "PORT", "STATIC_ROOT", "STATIC_HASHED"),
    *("DEBUG", "DEMO", "SCRIPTED_PROVIDER_URL", "SOLE_WORKER", "PANEL_STAND_IN", "PANEL_PEOPLE"),
}
FILLED = {
    "SITE": "studies.example.org",
    "SECRET_KEY": "kq3-9vT_wzR4mYp8LxN2sB6hJd0fGc7aUe5iOq1XtVbMnZrW-S",
    "POSTGRES_PASSWORD": "0f3a",
    "REDIS_PASSWORD": "9b1c",
    "EMAIL_URL": "smtp+tls://user:password@mail.example:587",
}


def source() -> str:
    return (env.ROOT / "docker-compose.yml").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load(source())


def filled(value: str, values: dict[str, str]) -> str:
    """Replaces variables as Compose does: ``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}``."""
    return ANY.sub(lambda found: values.get(found[1]) or (found[2] or "" if ":-" in found[0] else ""), value)


def test_the_compose_file_has_the_services_of_an_installation(compose: dict[str, Any]) -> None:
    assert {"db", "redis", *OURS} <= set(compose["services"])


@pytest.mark.parametrize("name", OURS)
def test_exactly_the_settings_that_are_read_are_passed(compose: dict[str, Any], name: str) -> None:
    passed = set(compose["services"][name]["environment"])
    others = set() if name == "web" else WEB_ONLY
    assert passed - set(env.LLM_KEYS) == names_read() - NOT_PASSED - others


@pytest.mark.parametrize("name", OURS)
def test_production_starts_with_only_the_required_settings(compose: dict[str, Any], name: str) -> None:
    assert set(REQUIRED.findall(source())) == set(FILLED)
    settings = {
        key: filled(str(value), FILLED) for key, value in compose["services"][name]["environment"].items()
    }
    code = (
        "from foretell import env; import foretell.settings as s;"
        "print(env.production_problems(), env.PRODUCTION, s.SESSION_COOKIE_SECURE, s.DATABASES['default']['HOST'])"
    )
    clean = {key: value for key, value in os.environ.items() if key not in names_read()}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**clean, **settings},
        cwd=env.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout.strip() == "[] True True db", done.stderr


def test_every_variable_is_explained() -> None:
    assert {name for name, _ in ANY.findall(source())} <= names_explained()


def test_no_secret_has_a_default() -> None:
    for name, rest in ANY.findall(source()):
        if "PASSWORD" in name or "KEY" in name:
            assert not rest or rest.startswith(f"{name} is missing"), name


def test_web_and_worker_can_be_scaled(compose: dict[str, Any]) -> None:
    for name in ("web", "worker"):
        service = compose["services"][name]
        assert "container_name" not in service
        assert "hostname" not in service
        assert not service.get("ports"), "only one container can use a host port"


def test_only_the_proxy_has_public_ports(compose: dict[str, Any]) -> None:
    assert [name for name, service in compose["services"].items() if service.get("ports")] == ["proxy"]


def test_every_long_running_service_has_a_health_check_and_restarts(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        if name == "migrate":
            assert service["restart"] == "no"
            continue
        assert service["healthcheck"]["test"], name
        assert service["restart"] == "unless-stopped", name


def test_our_services_wait_for_healthy_servers_and_migrations(compose: dict[str, Any]) -> None:
    for name in ("web", "worker", "housekeeping", "beat"):
        waits = {key: value["condition"] for key, value in compose["services"][name]["depends_on"].items()}
        assert waits == {
            "db": "service_healthy",
            "redis": "service_healthy",
            "migrate": "service_completed_successfully",
        }


def test_used_volumes_are_declared_and_contain_the_data(compose: dict[str, Any]) -> None:
    used = {
        volume.partition(":")[0]
        for service in compose["services"].values()
        for volume in service["volumes"]
        if ":" in volume
        and not volume.startswith("./")  # others belong to their container, or are files of ours
    }
    assert used == set(compose["volumes"])
    assert compose["services"]["db"]["volumes"] == ["postgres:/var/lib/postgresql"]
    assert compose["services"]["redis"]["volumes"] == ["redis:/data"]


def test_files_that_are_mounted_exist_and_are_read_only(compose: dict[str, Any]) -> None:
    mounted = [
        one for service in compose["services"].values() for one in service["volumes"] if one.startswith("./")
    ]
    assert mounted
    for one in mounted:
        source, _, mode = one.split(":")
        assert (env.ROOT / source).exists(), source
        assert mode == "ro", one


def test_the_proxys_page_says_what_the_products_own_page_says() -> None:
    ours = fromstring(render_to_string("errors/away.html"))
    theirs = fromstring((env.ROOT / "deploy/unavailable/index.html").read_bytes())
    for part in ("//title", "//h1", "//dt", "//dd"):
        words = [
            [" ".join(one.text_content().split()) for one in page.xpath(part)] for page in (ours, theirs)
        ]
        assert words[0] == words[1] != []


@pytest.mark.parametrize("name", ["web", "worker", "housekeeping", "beat"])
def test_every_command_of_the_compose_file_exists(compose: dict[str, Any], name: str) -> None:
    command = compose["services"][name]["command"]
    assert command[:3] == ["python", "-m", "foretell.serve"]
    assert command[3] in COMMANDS
    module = COMMANDS[command[3]]()[2]
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, check=False)
    assert done.returncode == 0


def test_every_service_has_few_privileges_and_limits(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["mem_limit"], name
        assert service["pids_limit"], name
        assert service["logging"]["options"] == {"max-size": "10m", "max-file": "5"}, name
    added = {
        name: service["cap_add"] for name, service in compose["services"].items() if "cap_add" in service
    }
    assert set(added) == {"db", "proxy"}
    assert added["proxy"] == ["NET_BIND_SERVICE"]


def test_the_servers_are_only_on_a_network_without_internet(compose: dict[str, Any]) -> None:
    assert compose["networks"]["back"] == {"internal": True}
    on = {name: set(service["networks"]) for name, service in compose["services"].items()}
    assert on["db"] == on["redis"] == {"back"}
    assert on["proxy"] == {"front"}, "the proxy can't reach Postgres or Redis"
    assert all("back" in on[name] for name in OURS)
    assert set.union(*on.values()) == set(compose["networks"])


def test_images_are_pinned_by_exact_version_and_digest(compose: dict[str, Any]) -> None:
    images = {service["image"] for service in compose["services"].values()} - {"foretell"}
    images |= set(re.findall(r"^FROM (\S+)", (env.ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert len(images) == 4
    for image in images:
        assert re.search(r":\d+\.\d+(\.\d+)?(-slim)?@sha256:[0-9a-f]{64}$", image), image


@pytest.mark.parametrize("docker_works", [True, False])
def test_images_are_pinned_by_digest_where_docker_reaches_a_registry(
    tmp_path: Path, docker_works: bool
) -> None:
    """With a program in place of Docker, on a copy of the files."""
    for name in ("docker-compose.yml", "Dockerfile", "deploy/pin-images"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(env.ROOT / name, tmp_path / name)
    docker = tmp_path / "docker"
    reply = (
        'printf "sha256:%s\\n" "$(printf %s "$4" | sha256sum | cut -c1-64)"'
        if docker_works
        else "echo no network >&2; exit 1"
    )
    docker.write_text(f"#!/bin/sh\n{reply}\n")
    docker.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def pin(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(tmp_path / "deploy/pin-images"), *more]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    before = (tmp_path / "docker-compose.yml").read_text()
    assert pin("--check").returncode == 1
    done = pin()
    after = (tmp_path / "docker-compose.yml").read_text()
    if not docker_works:
        assert done.returncode == 1
        assert "no network" in done.stderr
        assert after == before
        return
    images = {service["image"] for service in yaml.safe_load(after)["services"].values()} - {"foretell"}
    expected = {
        f"{tag}@sha256:{hashlib.sha256(tag.encode()).hexdigest()}"
        for tag in (one.partition("@")[0] for one in images)
    }
    assert images == expected
    assert (tmp_path / "Dockerfile").read_text().count("@sha256:") == 2
    assert pin("--check").returncode == 0
    docker.write_text("#!/bin/sh\necho sha256:" + "0" * 64 + "\n")
    assert pin("--check").returncode == 1, "the tag has moved"
    assert pin().returncode == 0
    assert (tmp_path / "Dockerfile").read_text().count("@sha256:" + "0" * 64) == 2


def test_redis_refuses_writes_before_the_kernel_kills_it(compose: dict[str, Any]) -> None:
    service = compose["services"]["redis"]
    most = re.search(r"maxmemory (\d+)mb", service["command"][-1])
    assert most is not None
    assert int(most[1]) <= 0.7 * int(service["mem_limit"].removesuffix("m"))


@pytest.mark.parametrize("name", OURS)
def test_any_variable_that_llm_keys_names_can_be_passed(compose: dict[str, Any], name: str) -> None:
    assert compose["services"][name]["env_file"] == [{"path": "llm-keys.env", "required": False}]
    assert "llm-keys.env" in (env.ROOT / ".gitignore").read_text().split()


def test_the_image_is_readable_for_its_user_whatever_the_umask_of_the_checkout() -> None:
    (step,) = re.findall(r"^RUN .*collectstatic.*$", (env.ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert step.endswith("&& chmod -R a+rX .")


def test_uploads_do_not_fill_the_memory(compose: dict[str, Any]) -> None:
    for name in OURS:
        assert "/tmp" in compose["services"][name]["volumes"]
        assert "tmpfs" not in compose["services"][name]


def test_the_image_uses_the_lock_runs_as_an_ordinary_user_and_contains_no_secret() -> None:
    lines = (env.ROOT / "Dockerfile").read_text()
    users = re.findall(r"^USER (\S+)", lines, re.MULTILINE)
    assert users == ["foretell"]
    assert lines.index("USER foretell") < lines.index("\nCMD")
    assert "--require-hashes -r /tmp/requirements.lock" in lines
    assert not re.search(r"SECRET_KEY|PASSWORD", lines)


def test_every_file_that_the_image_copies_exists_and_is_not_ignored() -> None:
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", (env.ROOT / "Dockerfile").read_text(), re.MULTILINE)
    sources = {name for line in copied for name in line.split()}
    kept = set(re.findall(r"^!(\S+)", (env.ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert sources == kept
    for name in sources:
        assert (env.ROOT / name).exists(), name
