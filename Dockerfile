# opscope with a CPU build of torch: the wheel is built from this source and installed into a slim image.
#   docker build -t opscope .
#   docker run --rm opscope profile resnet18
#   docker run --rm -v "$PWD:/work" opscope profile model.onnx
# Another torch: --build-arg TORCH=2.15.0
ARG TORCH=2.13.0

FROM python:3.11-slim-bookworm AS build
ARG TORCH
RUN apt-get update && apt-get install -y --no-install-recommends g++ cmake ninja-build libfmt-dev libsimdjson-dev \
    libcli11-dev libtomlplusplus-dev zlib1g-dev libsqlite3-dev libgraphviz-dev librsvg2-dev libncurses-dev
RUN pip install --no-cache-dir "torch==$TORCH" --index-url https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir "scikit-build-core>=0.10"
COPY CMakeLists.txt pyproject.toml README.md LICENSE /source/
COPY cmake /source/cmake
COPY data /source/data
COPY src /source/src
COPY python /source/python
RUN pip wheel --no-build-isolation --no-deps --wheel-dir /wheels /source

FROM python:3.11-slim-bookworm
ARG TORCH
RUN apt-get update && apt-get install -y --no-install-recommends libfmt9 libsimdjson14 libsqlite3-0 libgvc6 librsvg2-2 \
    libncursesw6 fonts-dejavu-core && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir "torch==$TORCH" torchvision --index-url https://download.pytorch.org/whl/cpu
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels pip install --no-cache-dir --no-deps /wheels/*.whl
RUN useradd --create-home user
USER user
WORKDIR /work
ENTRYPOINT ["opscope"]
CMD ["--help"]
