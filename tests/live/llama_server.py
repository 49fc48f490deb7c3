"""llama.cpp's own server: `python -m tests.live.llama_server PORT SLOTS FILE`."""

import signal
import sys

import xllamacpp


def main() -> None:
    """Serve a GGUF file until the process is ended."""
    port, slots, weights = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    settings = xllamacpp.CommonParams()
    settings.model.path = weights
    settings.hostnames = ["127.0.0.1"]
    settings.port = port
    settings.n_parallel = slots
    settings.n_ctx = 2048 * slots
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 2
    settings.use_jinja = True
    settings.fit_params = False
    server = xllamacpp.Server(settings)
    signal.sigwait({signal.SIGTERM})
    del server


if __name__ == "__main__":
    main()
