import type { IncomingMessage } from 'node:http'
import type { Permission } from './method.ts'

export interface AccessRules {
  /** Allows everything. */
  token?: string | undefined
  /** Allows what does not change or show the node's own. */
  readToken?: string | undefined
  /** What callers without a token may do; null: nothing, as with hosted nodes. */
  anonymous: Permission | null
}

/** What the caller may do; null means 401. */
export function permissionOf({ headers, url }: IncomingMessage, rules: AccessRules): Permission | null {
  const header = headers.authorization
  const query = new URL(url ?? '/', 'http://localhost').searchParams.get('token')
  if (header === undefined && query === null) return rules.anonymous
  const token = header === undefined ? query : /^Bearer (.+)$/.exec(header)?.[1]
  if (token !== undefined && token === rules.token) return 'admin'
  return token !== undefined && token === rules.readToken ? 'read' : null
}
