"""The providers' protocols. To add one:

1. ``tariffs/<provider>.toml``: prices, catalogue, ``[rules]`` and ``[cache]`` (``rules.py`` says what they mean).
2. ``protocols/<name>_lines.py``: a ``Wire`` (``wire.py``), how lines are read and results written. Its methods get the
   ``Job``: look models up by ``tariff(job.provider).model(name, job.created_at)``; what the create said is in
   ``job.options``. The blocks of a message are one text; ``Ask.marks`` are cache breakpoints, within it or behind it.
3. ``protocols/<name>.py``: ``app(branch)`` makes a Starlette application of the routes below ``/<provider>``, with its
   own exception handlers (404, ``branch.Unknown``, ``admission.Full``, own refusals), and ``DIALECT`` ends the file.
   Handlers only translate: ``Branch`` creates, retrieves, lists, cancels and keeps files, and knows the clock.
   Requests that come inside the create: write them as lines to ``branch.new_part()`` and create the job of that path.
   Results are files too: ``branch.path(branch.file(job.output_file))``, ``FileResponse`` gives the Content-Length
   (with ``one_result_file`` there is no ``error_file``). Show them only when ``branch.shows_results(job)``.
4. ``registry.py``: one line. Several providers may share a dialect; ``branch.provider`` tells which one it is.
5. Faults come by themselves: those of HTTP around every protocol (``calls.py`` must recognise creates, uploads and
   downloads; the words are your ``trouble``), those of jobs and lines in the core. ``job.faults`` names what a job has.
"""
