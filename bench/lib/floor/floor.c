/*
 * The least that open load costs on this machine: a plain epoll client in one thread.
 *
 * floor SOCKET|PORT SESSIONS RATE SECONDS ROWS
 *
 * Poisson arrivals at RATE per second (a fixed seed) ask the point select of sysbench's table, prepared, in the binary
 * protocol, each on a free one of SESSIONS connections (the one used last first); where none is free they wait in a queue.
 * Of an answer it reads the heads of the packets, as far as its end. Response time and lag of every request are kept in a
 * histogram. A path is that of a unix socket, a number a port of 127.0.0.1. The account is root without a password.
 *
 * It does what `evenkeel load` does for such requests and nothing else: no timeouts, no reconnecting, no TLS, one kind of
 * request. The last line is one JSON object: arrivals, completed, seconds, tau_ms, p99_ms, lag_p99_ms.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SESSIONS_MAX = 1024, WAITING = 1 << 20, BUFFER = 64 << 10, EVENTS = 128, TIMER = SESSIONS_MAX };
static const char SQL[] = "SELECT c FROM sbtest1 WHERE id = ?";
static const uint64_t SECOND = 1000000000;

static void fail(const char *what) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* xorshift64*: uniform in (0, 1]. */
static uint64_t state = 88172645463325252ull;
static uint64_t random_bits(void) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return state * 2685821657736338717ull;
}
static double uniform(void) { return ((random_bits() >> 11) + 1) * 0x1p-53; }

/* Times in classes 1/64 wide: 64 for each power of two. */
static uint64_t response[64 * 64], lag[64 * 64];
static void count(uint64_t *classes, uint64_t value) {
    int shift = value < 64 ? 0 : 57 - __builtin_clzll(value) + 1;
    classes[64 * shift + (value >> shift)]++;
}
static double quantile_ms(const uint64_t *classes, uint64_t total, double share) {
    uint64_t seen = 0;
    for (int index = 0; index < 64 * 64; index++)
        if ((seen += classes[index]) >= share * total && seen > 0)
            return ldexp(index % 64, index / 64) / 1e6;
    return 0;
}

struct session {
    int socket;
    uint32_t statement;
    uint64_t arrival;
    size_t head;        /* bytes of a packet's head that are there, at most 5: length, number, first byte */
    uint8_t bytes[5];
    size_t rest;        /* bytes of the packet still to come */
    int definitions;    /* of columns still to come; -1 before the first packet */
};
static struct session sessions[SESSIONS_MAX];
static int idle[SESSIONS_MAX], idles;
static uint64_t waiting[WAITING], first, last;
static uint64_t arrivals, completed, response_sum;
static uint64_t rows;
static uint8_t buffer[BUFFER];

static void put(uint8_t *out, uint64_t value, int bytes) {
    while (bytes--) *out++ = (uint8_t)value, value >>= 8;
}

static void send_all(int socket, const void *bytes, size_t length) {
    if (send(socket, bytes, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send");
}

/* A whole packet while the session still blocks; its length. */
static size_t packet(int socket, uint8_t *out) {
    uint8_t head[4];
    if (recv(socket, head, 4, MSG_WAITALL) != 4) fail("head of a packet");
    size_t length = head[0] | head[1] << 8 | head[2] << 16;
    if (length > BUFFER || recv(socket, out, length, MSG_WAITALL) != (ssize_t)length) fail("packet");
    if (length && out[0] == 0xff) fprintf(stderr, "floor: %.*s\n", (int)length - 3, out + 3), exit(1);
    return length;
}

static void log_in(int socket) {
    /* PROTOCOL_41, CONNECT_WITH_DB, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH, DEPRECATE_EOF; utf8mb4 */
    static const char names[] = "root\0\0sbtest\0mysql_native_password";
    uint8_t out[4 + 32 + sizeof names] = {32 + sizeof names, 0, 0, 1};
    packet(socket, buffer);
    put(out + 4, 0x200 | 0x8 | 0x2000 | 0x8000 | 0x80000 | 0x1000000, 4);
    put(out + 8, 1 << 24, 4);
    out[12] = 45;
    memcpy(out + 36, names, sizeof names);
    send_all(socket, out, sizeof out);
    packet(socket, buffer);
    if (buffer[0] == 0xfe) {
        /* The server wants another plugin: nothing is the answer to every one where there is no password. */
        static const uint8_t nothing[] = {0, 0, 0, 3};
        send_all(socket, nothing, sizeof nothing);
        packet(socket, buffer);
    }
}

static uint32_t prepare(int socket) {
    uint8_t out[5 + sizeof SQL - 1] = {sizeof SQL, 0, 0, 0, 0x16};
    memcpy(out + 5, SQL, sizeof SQL - 1);
    send_all(socket, out, sizeof out);
    packet(socket, buffer);
    uint32_t statement = buffer[1] | buffer[2] << 8 | buffer[3] << 16 | (uint32_t)buffer[4] << 24;
    /* One definition of a column and one of a parameter. */
    packet(socket, buffer), packet(socket, buffer);
    return statement;
}

static void open_session(struct session *session, const char *place) {
    int port = atoi(place), one = 1;
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in host = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    strncpy(path.sun_path, place, sizeof path.sun_path - 1);
    int socket_ = session->socket = socket(port ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    if (port ? connect(socket_, (void *)&host, sizeof host) : connect(socket_, (void *)&path, sizeof path)) fail("connect");
    if (port) setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    log_in(socket_);
    session->statement = prepare(socket_);
    fcntl(socket_, F_SETFL, O_NONBLOCK);
}

static void ask(int index, uint64_t arrival) {
    struct session *session = &sessions[index];
    uint8_t out[26] = {22, 0, 0, 0, 0x17};
    put(out + 5, session->statement, 4);
    out[10] = 1;                /* once */
    out[15] = 1, out[16] = 8;   /* types follow; a whole number of 64 bits */
    put(out + 18, 1 + random_bits() % rows, 8);
    session->arrival = arrival;
    session->head = session->rest = 0;
    session->definitions = -1;
    count(lag, now_ns() - arrival);
    send_all(session->socket, out, sizeof out);
}

/* Whether the answer ends within these bytes. */
static int ends(struct session *session, const uint8_t *bytes, size_t length) {
    while (length) {
        if (session->rest) {
            size_t skipped = session->rest < length ? session->rest : length;
            session->rest -= skipped, bytes += skipped, length -= skipped;
            continue;
        }
        session->bytes[session->head++] = *bytes++, length--;
        if (session->head < 5) continue;
        const uint8_t *head = session->bytes;
        session->head = 0;
        session->rest = (head[0] | head[1] << 8 | head[2] << 16) - 1;
        if (head[4] == 0xff) errno = EPROTO, fail("the server answered with an error");
        if (session->definitions < 0) session->definitions = head[4];
        else if (session->definitions > 0) session->definitions--;
        else if (head[4] == 0xfe) return 1;
    }
    return 0;
}

/* An answer, or a part of one. */
static void receive(int index) {
    struct session *session = &sessions[index];
    ssize_t length = recv(session->socket, buffer, BUFFER, 0);
    uint64_t now = now_ns();
    if (length < 0 && errno == EAGAIN) return;
    if (length <= 0) fail("recv");
    if (!ends(session, buffer, (size_t)length)) return;
    count(response, now - session->arrival);
    response_sum += now - session->arrival;
    completed++;
    if (first < last) ask(index, waiting[first++ % WAITING]);
    else idle[idles++] = index;
}

static void arm(int timer, uint64_t at) {
    struct itimerspec time = {.it_value = {(time_t)(at / SECOND), (long)(at % SECOND)}};
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

int main(int argc, char **argv) {
    if (argc != 6) return fprintf(stderr, "usage: floor SOCKET|PORT SESSIONS RATE SECONDS ROWS\n"), 2;
    int count_ = atoi(argv[2]), epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    double rate = atof(argv[3]), seconds = atof(argv[4]);
    rows = strtoull(argv[5], NULL, 10);
    if (count_ < 1 || count_ > SESSIONS_MAX || rate <= 0 || rows < 1) return fprintf(stderr, "floor: out of range\n"), 2;
    for (int index = 0; index < count_; index++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.u32 = (uint32_t)index}};
        open_session(&sessions[index], argv[1]);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, sessions[index].socket, &event)) fail("epoll_ctl");
        idle[idles++] = index;
    }
    struct epoll_event alarm = {.events = EPOLLIN | EPOLLET, .data = {.u32 = TIMER}}, events[EVENTS];
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &alarm);
    uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9), armed = 0;
    uint64_t due = start + (uint64_t)(-log(uniform()) / rate * 1e9);
    while (due < end || completed < arrivals) {
        uint64_t now = now_ns();
        for (; due <= now && due < end; due += (uint64_t)(-log(uniform()) / rate * 1e9)) {
            arrivals++;
            if (idles) ask(idle[--idles], due);
            else if (last - first == WAITING) errno = ENOBUFS, fail("queue");
            else waiting[last++ % WAITING] = due;
        }
        /* The timer stays armed while sockets wake the thread. */
        if (due < end && idles && armed != due) arm(timer, armed = due);
        int ready = epoll_wait(epoll, events, EVENTS, due < end && due <= now_ns() ? 0 : -1);
        for (int index = 0; index < ready; index++)
            if (events[index].data.u32 != TIMER) receive((int)events[index].data.u32);
    }
    printf("{\"arrivals\": %llu, \"completed\": %llu, \"seconds\": %.6f, \"tau_ms\": %.6f, \"p99_ms\": %.6f, \"lag_p99_ms\": %.6f}\n",
           (unsigned long long)arrivals, (unsigned long long)completed, seconds, response_sum / 1e6 / (completed ? completed : 1),
           quantile_ms(response, completed, 0.99), quantile_ms(lag, completed, 0.99));
    return 0;
}
