import type { Socket } from 'node:net'
import type { ClientConfig } from 'pg'
import t from 'tap'
import { SteadyClient } from '../../../../shared/db/steady-client.ts'
import { testDatabase } from '../../../helpers/database.ts'

interface Connected {
  connection: { stream: Socket }
}

/** The buffers in which answers came. */
async function buffersOf(client: SteadyClient): Promise<Set<ArrayBufferLike>> {
  const buffers = new Set<ArrayBufferLike>()
  const { connection } = client as SteadyClient & Connected
  connection.stream.on('data', ({ buffer }: Buffer) => buffers.add(buffer))
  await client.connect()
  try {
    for (const length of [1, 1_000, 10_000]) {
      const { rows } = await client.query<{ said: string }>('select repeat($1, $2) as said', ['é', length])
      t.same(rows, [{ said: 'é'.repeat(length) }])
    }
  } finally {
    await client.end()
  }
  return buffers
}

void t.test('however it is told where to connect, all that comes is read into one buffer', async (t) => {
  const { url } = await testDatabase(t)
  const { username: user, password, hostname: host, port, pathname } = new URL(url)
  const apart = { user, host, port: Number(port), database: pathname.slice(1) }
  // As a pool hides it.
  const hidden: ClientConfig = Object.defineProperty({ ...apart }, 'password', {
    value: password,
    enumerable: false,
  })
  for (const [how, client] of [
    ['by a string', new SteadyClient(url)],
    ['by options', new SteadyClient({ connectionString: url })],
    ['with a hidden password', new SteadyClient(hidden)],
  ] as const) {
    t.equal((await buffersOf(client)).size, 1, how)
  }
})

void t.test('where it is told nothing it connects as the environment says', async (t) => {
  const { url } = await testDatabase(t)
  const { username, password, hostname, port, pathname } = new URL(url)
  const told = {
    PGUSER: username,
    PGPASSWORD: password,
    PGHOST: hostname,
    PGPORT: port,
    PGDATABASE: pathname.slice(1),
  }
  t.intercept(process, 'env', { value: { ...process.env, ...told } })
  t.equal((await buffersOf(new SteadyClient())).size, 1)
})
