"""A network that is slow: a relay between client and server."""
import asyncio
import socket
import threading
import time


class Relay:
    """Hands bytes on to a port and back, and keeps each piece to the server for a while."""

    def __init__(self, to, delay_s):
        self.to, self.delay_s, self.loop = to, delay_s, asyncio.new_event_loop()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.over = asyncio.Event()
        self.loop.run_until_complete(self.serve())

    async def serve(self):
        server = await asyncio.start_server(self.connected, sock=self.socket)
        await self.over.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def connected(self, reader, writer):
        try:
            back, onward = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.pipe(reader, onward, self.delay_s), self.pipe(back, writer, 0), return_exceptions=True)

    async def pipe(self, reader, writer, delay):
        """Each piece goes on so long after it came, however many come meanwhile."""
        pieces = asyncio.Queue()

        async def send():
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(max(0, due - time.monotonic()))
                if not piece:
                    writer.close()
                    return
                writer.write(piece)
                await writer.drain()
        sending = asyncio.ensure_future(send())
        try:
            while piece := await reader.read(65536):
                pieces.put_nowait((time.monotonic() + delay, piece))
        except OSError:
            pass
        pieces.put_nowait((time.monotonic(), b""))
        await sending

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join()
