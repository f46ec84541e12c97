// What a HikariCP pool does with statements that the guard refuses. Usage: Pool URL REFUSALS
// Tells "ready" when its connections are open, begins at a line on stdin, tells "refused" with one connection in hand,
// and goes on with that one after another line. The last line is what came of it, as name=value.
import com.zaxxer.hikari.*;
import java.io.*;
import java.sql.*;
import java.util.*;

public class Pool {
    static final int SIZE = 4;
    static final long PATIENCE_MS = 20_000;
    static final TreeMap<String, Integer> seen = new TreeMap<>();
    static int refused, evicted, passed, unavailable;

    static HikariDataSource open(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setUsername("app");
        config.setPassword("secret");
        config.setMaximumPoolSize(SIZE);
        config.setMinimumIdle(SIZE);
        config.setConnectionTimeout(500);
        return new HikariDataSource(config);
    }

    /** Opens all connections, and uses each one once. */
    static void fill(HikariDataSource pool) throws SQLException {
        List<Connection> all = new ArrayList<>();
        for (int number = 0; number < SIZE; number++) {
            all.add(pool.getConnection());
            identity(all.get(number));
        }
        for (Connection connection : all) connection.close();
    }

    static long identity(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT CONNECTION_ID()")) {
            rows.next();
            return rows.getLong(1);
        }
    }

    /** By turns a statement by itself, a prepared one, and a transaction. */
    static void work(Connection connection, int turn) throws SQLException {
        if (turn % 3 == 0) {
            identity(connection);
        } else if (turn % 3 == 1) {
            try (PreparedStatement statement = connection.prepareStatement("SELECT n FROM counter WHERE id = ?")) {
                statement.setInt(1, 2);
                statement.executeQuery();
            }
        } else {
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("UPDATE counter SET n = n + 1 WHERE id = 2");
                connection.commit();
            }
        }
    }

    /** Kind by the standard classes that applications catch, and how the driver names it. */
    static String kind(SQLException error) {
        String standard = error instanceof SQLTransientException ? "transient" : error instanceof SQLNonTransientException ? "not transient"
            : error instanceof SQLRecoverableException ? "recoverable" : "unclassified";
        Class<?> type = error.getClass();
        while (!type.getName().startsWith("java.")) type = type.getSuperclass();
        return type.getSimpleName() + " (" + standard + ") " + error.getErrorCode() + " " + error.getSQLState();
    }

    /** A connection, or none where the pool has none to give in time. */
    static Connection take(HikariDataSource pool) {
        try {
            return pool.getConnection();
        } catch (SQLException error) {
            return null;
        }
    }

    static void attempt(HikariDataSource pool, int turn) {
        try (Connection connection = take(pool)) {
            if (connection == null) {
                unavailable++;
                return;
            }
            try {
                work(connection, turn);
                passed++;
            } catch (SQLException error) {
                refused++;
                seen.merge(kind(error), 1, Integer::sum);
                // A connection that the pool has thrown away is closed for the application.
                if (connection.isClosed()) evicted++;
            }
        } catch (SQLException error) {
            seen.merge("on giving back: " + kind(error), 1, Integer::sum);
        }
    }

    static boolean refuses(Connection connection) {
        try {
            identity(connection);
            return false;
        } catch (SQLException error) {
            return true;
        }
    }

    /** Whether a connection that was refused goes on to work in the hands of the application. */
    static String afterwards(HikariDataSource pool, BufferedReader in) throws IOException {
        try (Connection connection = take(pool)) {
            boolean first = connection != null && refuses(connection);
            System.out.println("refused");
            in.readLine();
            if (connection == null) return "had no connection";
            identity(connection);
            return first ? "works" : "was not refused";
        } catch (SQLException error) {
            return "fails";
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        try (HikariDataSource pool = open(arguments[0])) {
            fill(pool);
            System.out.println("ready");
            in.readLine();
            long end = System.currentTimeMillis() + PATIENCE_MS;
            for (int turn = 0; refused < Integer.parseInt(arguments[1]) && System.currentTimeMillis() < end; turn++) attempt(pool, turn);
            // What a pool opens in place of what it has thrown away it opens a little later.
            Thread.sleep(500);
            System.out.println("counted");
            in.readLine();
            String after = afterwards(pool, in);
            System.out.println("refused=" + refused + ";evicted=" + evicted + ";passed=" + passed + ";unavailable=" + unavailable
                + ";after=" + after + ";seen=" + seen);
        }
    }
}
