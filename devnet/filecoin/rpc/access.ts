import type { IncomingMessage } from 'node:http'
import type { Permission } from './method.ts'

export interface AccessRules {
  /** Allows everything. */
  token?: string | undefined
  /** Allows calls that neither change nor show the node's own data. */
  readToken?: string | undefined
  /** Permission of callers without a token; null allows nothing, like hosted nodes. */
  anonymous: Permission | null
}

/** Returns the caller's permission; null means 401. */
export function permissionOf({ headers, url }: IncomingMessage, rules: AccessRules): Permission | null {
  const header = headers.authorization
  const query = new URL(url ?? '/', 'http://localhost').searchParams.get('token')
  if (header === undefined && query === null) return rules.anonymous
  const token = header === undefined ? query : /^Bearer (.+)$/.exec(header)?.[1]
  if (token !== undefined && token === rules.token) return 'admin'
  return token !== undefined && token === rules.readToken ? 'read' : null
}
