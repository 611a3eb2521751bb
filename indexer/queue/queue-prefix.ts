import { isCluster } from '../../shared/redis/redis-arguments.ts'

const SERVICE = 'loan-activity'

/**
 * Keys of BullMQ carry this prefix, so that a Redis can be shared with other programs. On a Cluster each queue has one of its own
 * in braces: a script's keys must be on one node, and the queues are spread over the nodes.
 */
export function queuePrefix(url: string, queue: string): string {
  return isCluster(url) ? `{${SERVICE}:${queue}}` : SERVICE
}
