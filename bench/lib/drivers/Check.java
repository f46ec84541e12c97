// What a JDBC driver prints of the statements that all drivers run. Usage: Check.java URL FILE
import java.security.MessageDigest;
import java.sql.*;
import java.util.*;

public class Check {
    static void show(String title, String text) throws Exception {
        if (text.length() > 2000) {
            byte[] digest = MessageDigest.getInstance("MD5").digest(text.getBytes("UTF-8"));
            text = text.length() + " " + HexFormat.of().formatHex(digest);
        }
        System.out.println(title.substring(0, Math.min(60, title.length())) + " " + text);
    }

    static String fetch(ResultSet rows) throws Exception {
        StringBuilder out = new StringBuilder();
        ResultSetMetaData columns = rows.getMetaData();
        for (int index = 1; index <= columns.getColumnCount(); index++)
            out.append(columns.getColumnLabel(index)).append(':').append(columns.getColumnTypeName(index)).append(' ');
        while (rows.next())
            for (int index = 1; index <= columns.getColumnCount(); index++) {
                boolean isBytes = columns.getColumnTypeName(index).contains("BLOB");
                byte[] cell = isBytes ? rows.getBytes(index) : null;
                out.append(cell == null ? rows.getString(index) : HexFormat.of().formatHex(cell)).append('|');
            }
        return out.toString();
    }

    static void results(String sql, Statement statement, boolean isRows) throws Exception {
        while (true) {
            if (isRows) show(sql, fetch(statement.getResultSet()));
            else if (statement.getUpdateCount() == -1) return;
            else show(sql, "changed " + statement.getUpdateCount());
            isRows = statement.getMoreResults();
        }
    }

    static void run(Connection connection, String sql) throws Exception {
        try (Statement statement = connection.createStatement()) {
            results(sql, statement, statement.execute(sql));
        } catch (SQLException error) {
            show(sql, error.getErrorCode() + " " + error.getSQLState());
        }
    }

    static void prepared(Connection connection, String sql, Object... values) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int index = 0; index < values.length; index++) statement.setObject(index + 1, values[index]);
            results(sql, statement, statement.execute());
        } catch (SQLException error) {
            show(sql, error.getErrorCode() + " " + error.getSQLState());
        }
    }

    static void everything(Connection connection, String file) throws Exception {
        run(connection, "DROP TABLE IF EXISTS types");
        run(connection, "CREATE TABLE types (id INT PRIMARY KEY AUTO_INCREMENT, d DECIMAL(30,10), t DATETIME(6), j JSON, b BLOB, s VARCHAR(200) CHARACTER SET utf8mb4, f DOUBLE, u BIGINT UNSIGNED, e ENUM('a','b'))");
        byte[] bytes = new byte[256];
        for (int index = 0; index < 256; index++) bytes[index] = (byte) index;
        Object[] row = {"12345678901234567890.0123456789", "2026-02-28 23:59:59.999999", "{\"a\": [1, null]}", bytes, "dråpe 雨 🌧", -0.1, "18446744073709551615", "b"};
        String insert = "INSERT INTO types (d, t, j, b, s, f, u, e) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        prepared(connection, insert, row);
        prepared(connection, insert, new Object[8]);
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            for (int count = 0; count < 50; count++) {
                for (int index = 0; index < 8; index++) statement.setObject(index + 1, row[index]);
                statement.addBatch();
            }
            show("batch", Arrays.toString(statement.executeBatch()));
        }
        run(connection, "SELECT * FROM types WHERE id < 4");
        prepared(connection, "SELECT * FROM types WHERE id > ?", 1);
        try (PreparedStatement statement = connection.prepareStatement("SELECT * FROM types")) {
            statement.setFetchSize(7);
            show("fetch", fetch(statement.executeQuery()));
        }
        prepared(connection, "CALL report(?)", 5);
        for (String sql : List.of("CALL report(5)", "SELEC", "SELECT * FROM nowhere", "SELECT NULL, '', 1.50",
                "INSERT INTO types (id) VALUES (1)", "SELECT 1; SELECT 2, 3; DO 1; SELECT nothing", "SELECT REPEAT('x', 20000000)"))
            run(connection, sql);
        prepared(connection, "SELECT SHA2(?, 256), LENGTH(?)", "y".repeat(20000000), "z".repeat(17000000));
        connection.setAutoCommit(false);
        run(connection, "DELETE FROM types");
        run(connection, "LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE copy FIELDS TERMINATED BY ','");
        run(connection, "SELECT COUNT(*), SUM(CRC32(words)) FROM copy");
        Savepoint point = connection.setSavepoint("one");
        run(connection, "UPDATE counter SET n = 99");
        connection.rollback(point);
        connection.rollback();
        connection.setAutoCommit(true);
        run(connection, "SELECT COUNT(*) FROM types");
    }

    static void together(String url) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 4; number++)
            threads.add(new Thread(() -> {
                try (Connection connection = DriverManager.getConnection(url, "app", "secret")) {
                    connection.setAutoCommit(false);
                    for (int count = 0; count < 25; count++) {
                        connection.createStatement().executeUpdate("UPDATE counter SET n = n + 1 WHERE id = 1");
                        connection.commit();
                    }
                } catch (Exception error) { System.out.println("together " + error); }
            }));
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0], "app", "secret")) {
            try (ResultSet rows = connection.createStatement().executeQuery("SHOW SESSION STATUS LIKE 'Ssl_version'")) {
                rows.next();
                System.out.println("tls " + !rows.getString(2).isEmpty());
            }
            everything(connection, arguments[1]);
            together(arguments[0]);
            run(connection, "SELECT n FROM counter");
        }
    }
}
