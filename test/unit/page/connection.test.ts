import { getEventListeners } from 'node:events'
import t from 'tap'

/** What the page knows of its connection. Its modules read the address of the document when they load. */

Object.assign(globalThis, { location: { pathname: '/' }, document: { hidden: false } })
// Their types need those of a browser, which the tests do not have.
const load = async <Module>(name: string): Promise<Module> =>
  (await import(new URL(`../../../api/page/lib/${name}.ts`, import.meta.url).href)) as Module

interface Api {
  ask: (call: () => Promise<object>) => Promise<unknown>
  connection: { value: string }
}
const { ask, connection } = await load<Api>('api')
const { pause } = await load<{ pause: (ms: number, stop: AbortSignal) => Promise<void> }>('use-answer')

void t.test('an API that answers with a fault or not at all is away, until it answers', async (t) => {
  const reply = (status: number) => () =>
    Promise.resolve({ error: {}, response: new Response(null, { status }) })
  for (const [status, wanted] of [
    [503, 'away'],
    [404, 'ok'],
    [429, 'away'],
    [400, 'ok'],
    [500, 'away'],
    [502, 'away'],
  ] as const) {
    await t.rejects(ask(reply(status)))
    t.equal(connection.value, wanted, `${status}`)
  }
  await ask(() => Promise.resolve({ data: {}, response: new Response() }))
  t.equal(connection.value, 'ok')
  await t.rejects(ask(() => Promise.reject(new Error('no connection'))))
  t.equal(connection.value, 'away')
})

void t.test('a pause leaves nothing on the signal, and ends with it', async (t) => {
  const stopped = new AbortController()
  for (let round = 0; round < 3; round += 1) await pause(1, stopped.signal)
  t.equal(getEventListeners(stopped.signal, 'abort').length, 0)
  const long = pause(1_000_000, stopped.signal)
  stopped.abort()
  await long
})
