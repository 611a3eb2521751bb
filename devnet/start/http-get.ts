import * as z from 'zod'

const TIMEOUT_MS = 2000

/** GET with a time-out; returns the body parsed by `schema`, or undefined when there is no such answer. */
export async function getJson<T>(url: string, schema: z.ZodType<T>): Promise<T | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    const body: unknown = await response.json()
    return response.ok ? schema.parse(body) : undefined
  } catch {
    return undefined
  }
}

/** True when the address answers with 2xx. */
export async function answersOk(url: string): Promise<boolean> {
  return (
    (await getJson(
      url,
      z.unknown().transform(() => true),
    )) === true
  )
}

/** Returns a local URL for a server on `host`, which may be "every address". */
export function localUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
