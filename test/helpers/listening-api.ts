import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { testApi, type TestApi } from './api.ts'

/** The API on a database of its own, on a port that the system picked. */
export async function listeningApi(
  t: Test,
  options: Parameters<typeof testApi>[1] = {},
): Promise<TestApi & { origin: string }> {
  const api = await testApi(t, options)
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  return { ...api, origin: `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}` }
}
