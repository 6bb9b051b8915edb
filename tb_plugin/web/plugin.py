"""The plugin of TensorBoard: when its tab is shown, and its application."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tensorboard.plugins.base_plugin import FrontendMetadata, TBPlugin

from ..session.catalog import Traces, facts_catalog
from ..store.discovery.walk import Logdir, resolve
from .middleware import mounted
from .tab import TITLES, plugin_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment
    from tensorboard.plugins.base_plugin import TBContext

FIRST_LOOK_SECONDS = 0.4
"""TensorBoard asks all plugins in turn, and its page waits for the answer."""


class ProfilerPlugin(TBPlugin):  # type: ignore[misc]  # tensorboard carries no types
    """The plugin class for TensorBoard."""

    def __init__(self, context: TBContext) -> None:
        self.plugin_name = plugin_name()
        self._logdirs = logdirs_of(context)
        catalog = facts_catalog(self._logdirs)
        catalog.start()
        self.close = catalog.close  # it closes itself when the program ends
        self.catalog: Traces = catalog
        self._app = _LaterApp(catalog)
        self._waited = False

    def get_plugin_apps(self) -> Mapping[str, WSGIApplication]:
        # TensorBoard knows exact routes and prefixes only; ours has both behind one prefix.
        return {"/*": mounted(self._app, f"/data/plugin/{self.plugin_name}")}

    def is_active(self) -> bool:
        """True if there is something to show. The first call waits shortly for the first look."""
        if not self._logdirs:
            return False
        if not self._waited:
            self._waited = True
            self._app.prepare()
            self.catalog.wait_first_look(FIRST_LOOK_SECONDS)
        now = self.catalog.snapshot()
        return now.scanning or bool(now.runs)

    def frontend_metadata(self) -> FrontendMetadata:
        return FrontendMetadata(
            es_module_path="/index.js", tab_name=TITLES[self.plugin_name], disable_reload=False
        )

    def data_plugin_names(self) -> tuple[str, ...]:
        """No summaries in event files: our traces are files of their own."""
        return ()


class _LaterApp:
    """The application, created at the first request: TensorBoard starts without our views."""

    def __init__(self, catalog: Traces) -> None:
        self._catalog = catalog
        self._made: WSGIApplication | None = None
        self._making = threading.Lock()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self._app()(environ, start_response)

    def prepare(self) -> None:
        """Create the application in the background, when TensorBoard's page is opened."""
        threading.Thread(target=self._app, name="kinetoscope-app", daemon=True).start()

    def _app(self) -> WSGIApplication:
        with self._making:
            if self._made is None:
                from ..views import all_views
                from .app import create_app
                from .report.document import report_of_served

                views = all_views()
                self._made = create_app(self._catalog, views, "tensorboard", save=report_of_served)
            return self._made


def logdirs_of(context: TBContext) -> tuple[Logdir, ...]:
    """The folders of ``--logdir`` or ``--logdir_spec``; parts of the context may be missing."""
    flags = context.flags
    spec = getattr(flags, "logdir_spec", None) if flags is not None else None
    return resolve(context.logdir or None, spec or None)
