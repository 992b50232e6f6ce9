"""The WSGI application that gunicorn serves: moto, which finds the service by the request's signature and host."""

from __future__ import annotations

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

application = DomainDispatcherApplication(create_backend_app)
