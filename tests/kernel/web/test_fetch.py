"""Fetching under limits: redirects, time, size, compression, encryption, what is sent."""

import asyncio
import gzip
import ssl
import subprocess
import zlib
from pathlib import Path

import pytest

from maia_kernel.web import fetch as fetching
from maia_kernel.web import urls
from maia_kernel.web.fetch import Elsewhere, FetchFailed, Limits, Page, fetch
from maia_kernel.web.network import Network
from tests.support.web import Respond, Site, answer, internet, redirect

HERE = urls.parse("http://example.com/")


async def get(
    pages: dict[str, bytes | Respond], limits: Limits | None = None, path: str = ""
) -> Page | Elsewhere:
    """What a fetch of example.com gives, where `pages` are served."""
    async with Site(pages) as site:
        network, _ = internet(site, {"www.example.com": ["93.184.215.14"]})
        return await fetch(urls.parse(f"http://example.com/{path}"), network, limits)


async def page(
    pages: dict[str, bytes | Respond], limits: Limits | None = None, path: str = ""
) -> Page:
    found = await get(pages, limits, path)
    assert isinstance(found, Page)
    return found


# -- redirects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["next?a=1", "/a/next?a=1", "//EXAMPLE.com./a/next?a=1"])
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 T", "308 P"])
async def test_a_redirect_on_the_same_host_is_followed(to: str, status: str) -> None:
    pages: dict[str, bytes | Respond] = {
        "/a/b": redirect(to, status),
        "/a/next?a=1": answer("there"),
    }
    found = await page(pages, path="a/b")
    assert found.body == b"there"
    assert str(found.url) == "http://example.com/a/next?a=1"


@pytest.mark.parametrize(
    "to",
    ["http://www.example.com/x", "//www.example.com/x", "http://example.com.evil.example.org/x"],
)
async def test_a_redirect_to_another_host_is_returned(to: str) -> None:
    found = await get({"/": redirect(to)})
    assert isinstance(found, Elsewhere)
    assert str(found.to).endswith("/x")
    assert found.to.host != "example.com"


async def test_five_redirects_are_followed_and_a_loop_ends() -> None:
    pages: dict[str, bytes | Respond] = {f"/{n}": redirect(f"/{n + 1}") for n in range(5)}
    assert (await page(pages, path="0")).body == b"<p>hello</p>"
    with pytest.raises(FetchFailed, match="more than 5"):
        await page({"/": redirect("/")})


@pytest.mark.parametrize("to", ["file:///etc/passwd", "http://u:p@example.com/", "http://[bad/"])
async def test_a_redirect_to_what_is_no_web_address_fails(to: str) -> None:
    with pytest.raises(FetchFailed, match="redirects to an address that is refused"):
        await get({"/": redirect(to)})


async def test_a_redirect_with_raw_characters_is_understood() -> None:
    pages: dict[str, bytes | Respond] = {"/": redirect("/a b/é"), "/a%20b/%C3%A9": answer("there")}
    assert (await page(pages)).body == b"there"


# -- limits ----------------------------------------------------------------------------------------


async def test_a_slow_drip_ends_at_the_time_limit() -> None:
    """Given a byte now and then for ever, the whole time counts, not the time between two bytes."""

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.02)

    with pytest.raises(FetchFailed, match=r"longer than 0\.4 seconds"):
        await get({"/": drip}, Limits(seconds=0.4))


async def test_a_server_that_says_nothing_ends_at_the_time_limit() -> None:
    async def silence(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)

    with pytest.raises(FetchFailed, match=r"longer than 0\.3 seconds"):
        await get({"/": silence}, Limits(seconds=0.3))


async def test_redirects_share_the_time_limit() -> None:
    async def slowly(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.15)
        writer.write(redirect("/"))

    with pytest.raises(FetchFailed, match="longer than"):
        await get({"/": slowly}, Limits(seconds=0.4, redirects=50))


async def test_an_endless_body_is_cut_at_the_size_limit() -> None:
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()
            sent += 65_536

    found = await page({"/": endless}, Limits(size=100_000))
    assert len(found.body) == 100_000
    assert found.cut == "only the first 100,000 bytes were read"
    assert sent < 50_000_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_decompression_bomb_is_cut_at_the_size_limit(encoding: str) -> None:
    """Given 50 MB in 50 KB, no more is unpacked than is kept."""
    packer = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    bomb = packer.compress(b"\0" * 50_000_000) + packer.flush()
    assert len(bomb) < 100_000
    found = await page({"/": answer(bomb, Content_Encoding=encoding)})
    assert len(found.body) == 5_000_000
    assert found.cut


@pytest.mark.parametrize("name", ["gzip", "x-gzip", "deflate", "identity", "GZIP"])
async def test_compressed_pages_are_unpacked(name: str) -> None:
    data = b"words " * 50_000
    packed = {"deflate": zlib.compress(data), "identity": data}.get(name, gzip.compress(data))
    found = await page({"/": answer(packed, Content_Encoding=name)})
    assert (found.body, found.cut) == (data, "")


async def test_deflate_without_its_header_is_unpacked_as_well() -> None:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(b"words " * 1_000) + packer.flush()
    assert (await page({"/": answer(packed, Content_Encoding="deflate")})).body == b"words " * 1_000


@pytest.mark.parametrize(
    ("name", "said"), [("gzip", "damaged"), ("br", "not asked for"), ("gzip, gzip", "not asked")]
)
async def test_a_body_that_is_not_in_its_encoding_fails(name: str, said: str) -> None:
    with pytest.raises(FetchFailed, match=said):
        await page({"/": answer(b"this is plain text", Content_Encoding=name)})


async def test_a_body_that_ends_too_early_is_kept_and_said() -> None:
    """Given half of the promised bytes, or half of the compressed ones, the half is not lost."""
    short = answer(b"half", Content_Length="1000")
    packed = gzip.compress(bytes(range(256)) * 1_000)
    for body in (short, answer(packed[: len(packed) // 2], Content_Encoding="gzip")):
        found = await page({"/": body})
        assert found.body
        assert "ended before all" in found.cut


async def test_nothing_at_all_is_a_failure_and_an_empty_page_is_none() -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.close()

    with pytest.raises(FetchFailed):
        await page({"/": hang_up})
    assert (await page({"/": answer(b"")})).body == b""


async def test_what_is_no_http_is_said() -> None:
    with pytest.raises(FetchFailed, match="not HTTP"):
        await page({"/": b"SSH-2.0-OpenSSH_9.9\r\n"})


async def test_header_lines_without_end_are_refused() -> None:
    async def headers(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-Filler: " + b"y" * 8_000 + b"\r\n")
            await writer.drain()

    with pytest.raises(FetchFailed):
        await page({"/": headers})


async def test_a_closed_port_and_an_unknown_name_are_said() -> None:
    async with Site() as site:
        port = site.port
    with pytest.raises(FetchFailed, match=f"no connection to 127.0.0.1:{port}"):
        await fetch(urls.parse(f"http://127.0.0.1:{port}/"), Network(frozenset({"127.0.0.1"})))
    async with Site() as site:
        network, _ = internet(site)
        with pytest.raises(FetchFailed, match="cannot be resolved"):
            await fetch(urls.parse("http://unknown.example.com/"), network)


async def test_an_interrupt_closes_the_connection() -> None:
    closed = asyncio.Event()

    async def wait(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n.")
        try:
            while True:
                writer.write(b".")
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            closed.set()

    async with Site({"/": wait}) as site:
        task = asyncio.create_task(fetch(HERE, internet(site)[0]))
        while not site.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), 5)


# -- what is sent ----------------------------------------------------------------------------------


async def test_no_cookie_no_credential_and_no_proxy(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """Given cookies, a .netrc and proxies in the environment, none of them is used."""
    (home / ".netrc").write_text("machine example.com login person password secret\n")
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    pages: dict[str, bytes | Respond] = {
        "/": answer(b"", status="302 Found", Location="/next", Set_Cookie="id=1")
    }
    async with Site(pages) as site:
        await fetch(HERE, internet(site)[0])
        assert site.targets == ["/", "/next"]
        assert all(site.header(name) is None for name in ("cookie", "authorization", "referer"))
        assert (site.header("user-agent") or "").startswith("MAIA/")
        assert site.header("host") == "example.com"


# -- encryption ------------------------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of example.com, signed by itself, with its key in the same file."""
    file = tmp_path / "site.pem"
    program = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=example.com", "-addext", "subjectAltName=DNS:example.com"]
    subprocess.run(
        [*program, *names, "-keyout", file, "-out", tmp_path / "cert.pem"],
        check=True,
        capture_output=True,
    )
    file.write_bytes(file.read_bytes() + (tmp_path / "cert.pem").read_bytes())
    return file


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_a_certificate_nobody_vouches_for_is_refused(tls: ssl.SSLContext) -> None:
    async with Site(tls=tls) as site:
        with pytest.raises(FetchFailed, match=r"certificate of example\.com cannot be trusted"):
            await fetch(urls.parse("https://example.com/"), internet(site)[0])
        assert site.requests == []


async def test_the_certificate_is_that_of_the_name_not_of_the_address(
    tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the authority is trusted, the name is fetched; another name with the same site is not."""
    trusting = ssl.create_default_context(cafile=certificate.with_name("cert.pem"))
    monkeypatch.setattr(fetching, "_certificates", lambda: trusting)
    asked: list[str | None] = []
    tls.sni_callback = lambda _, name, __: asked.append(name)  # type: ignore[assignment]
    async with Site(tls=tls) as site:
        network, _ = internet(site, {"other.example.org": ["93.184.215.14"]})
        found = await fetch(urls.parse("https://example.com/"), network)
        assert isinstance(found, Page)
        assert asked == ["example.com"]
        with pytest.raises(FetchFailed, match=r"certificate of other\.example\.org"):
            await fetch(urls.parse("https://other.example.org/"), network)


async def test_a_redirect_away_from_encryption_is_returned(
    tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusting = ssl.create_default_context(cafile=certificate.with_name("cert.pem"))
    monkeypatch.setattr(fetching, "_certificates", lambda: trusting)
    async with Site({"/": redirect("http://example.com/plain")}, tls=tls) as site:
        found = await fetch(urls.parse("https://example.com/"), internet(site)[0])
    assert isinstance(found, Elsewhere)
    assert str(found.to) == "http://example.com/plain"
