# docker build -t xlalint . && docker run --rm -v "$PWD:/src:ro" xlalint check
FROM python:3.12-slim AS build
# Debian keeps one version of a package: pinned, the image could not be built again.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . /xlalint
RUN python -m venv /opt/xlalint && XLALINT_COMPILED=1 /opt/xlalint/bin/pip install --no-cache-dir "/xlalint[report]"

FROM python:3.12-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home xlalint
COPY --from=build /opt/xlalint /opt/xlalint
ENV PATH=/opt/xlalint/bin:$PATH XLALINT_CACHE_DIR=/tmp/xlalint-cache
USER 1000
WORKDIR /src
ENTRYPOINT ["xlalint"]
CMD ["check"]
