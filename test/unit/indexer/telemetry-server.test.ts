import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startTelemetry } from '../../../indexer/telemetry-server.ts'

void t.test('the indexer’s own port is read with GET and HEAD', async (t) => {
  const server = await startTelemetry({ host: '127.0.0.1', port: 0 }, [])
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const path of ['/healthz', '/readyz', '/metrics', '/nothing']) {
    const posted = await fetch(url + path, { method: 'POST', body: '{}' })
    t.equal(posted.status, 405, path)
    t.equal(posted.headers.get('allow'), 'GET, HEAD')
    t.match(await posted.json(), { status: 'ERROR', message: /POST/ })
    const wanted = path === '/nothing' ? 404 : 200
    for (const method of ['GET', 'HEAD']) t.equal((await fetch(url + path, { method })).status, wanted)
  }
})

void t.test('a port or an address that cannot be had is named with its variable', async (t) => {
  const server = await startTelemetry({ host: '127.0.0.1', port: 0 }, [])
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  await t.rejects(startTelemetry({ host: '127.0.0.1', port }, []), {
    message: `INDEXER_PORT ${port} on 127.0.0.1 is in use: stop what listens there, or set INDEXER_PORT to a free port`,
  })
  await t.rejects(startTelemetry({ host: '192.0.2.1', port: 0 }, []), {
    message: /^INDEXER_HOST 192\.0\.2\.1 is no address of this machine/,
  })
})
