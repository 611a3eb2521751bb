import { normalizeIP } from '@fastify/rate-limit'
import type { FastifyRequest } from 'fastify'

const HEALTH_CHECKS = ['/healthz', '/readyz']
/** An address has at most 45 characters, but a proxy can forward any text. */
const MOST_CHARACTERS = 64

/** Identifies one client: an IPv4 address, or the /64 of an IPv6 address, because a subscriber owns all of it. */
export function clientKey(request: FastifyRequest): string {
  return normalizeIP(request.ip.slice(0, MOST_CHARACTERS))
}

/** Health checks are never limited or refused. */
export function isHealthCheck(request: FastifyRequest): boolean {
  return HEALTH_CHECKS.includes(request.routeOptions.url ?? '')
}
