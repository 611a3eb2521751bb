import { RetryableError } from '../../../shared/errors.ts'
import type { RpcClient } from './rpc-client.ts'
import type { RpcEndpoint } from './rpc-endpoint.ts'

/** What another endpoint than `first` gives; null when no other is there, or none answers now. */
export async function secondAnswer<T>(
  client: RpcClient,
  first: RpcEndpoint,
  task: (second: RpcEndpoint) => Promise<T>,
): Promise<T | null> {
  if (client.available().every((candidate) => candidate === first)) return null
  try {
    return await client.read('a second answer', task, { excluding: [first], attempts: 1 })
  } catch (error) {
    if (error instanceof RetryableError) return null
    throw error
  }
}
