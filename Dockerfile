# A server without PyTorch, for a CPU: see docs/serve.md, "In a container".
FROM python:3.12-slim AS build
WORKDIR /source
COPY README.md LICENSE constraints.txt pyproject.toml ./
COPY slim slim
COPY src src
RUN python -m venv /opt/augenmerk \
 && /opt/augenmerk/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ./slim \
 && /opt/augenmerk/bin/python -m compileall -q /opt/augenmerk/lib

FROM python:3.12-slim
COPY --from=build /opt/augenmerk /opt/augenmerk
ENV PATH=/opt/augenmerk/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin augenmerk
USER 10001
WORKDIR /
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/health/ready', timeout=4)"]
ENTRYPOINT ["augenmerk", "serve", "--host", "0.0.0.0", "--folder", "/runs"]
