import type { createClient } from '../../../client/index.ts'

type Client = ReturnType<typeof createClient>
type Query = Record<string, string | readonly string[] | undefined>

/** Options of the functions of the client. */
interface Question {
  url: string
  path?: Record<string, string>
  query?: Query
  signal?: AbortSignal
}

/**
 * A client of reading questions alone, in the form that the package's functions take: the generated one can also send
 * bodies, authorize and transform, which is a twentieth of the page's size. `base` has no slash at its end.
 */
export function readingClient(base: string): Client {
  const get = async ({ url, path = {}, query = {}, signal }: Question): Promise<unknown> => {
    const filled = url.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ''))
    const text = queryText(query)
    let response: Response
    try {
      response = await fetch(
        `${base}${filled}${text === '' ? '' : `?${text}`}`,
        signal === undefined ? {} : { signal },
      )
    } catch (error) {
      return { error }
    }
    const body: unknown = await response.json().catch(() => undefined)
    return response.ok ? { data: body, response } : { error: body, response }
  }
  return { get, getConfig: () => ({ baseUrl: base }) } as unknown as Client
}

/** A list gives its name several times, as the API reads it. */
export function queryText(query: Query): string {
  const text = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    for (const one of [value ?? []].flat()) text.append(name, one)
  return text.toString()
}
